"""Many jobs: processes on this machine, Ray on others. It schedules; the folders of the jobs remember."""
