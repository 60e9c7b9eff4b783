"""Joint names that engines know, given to a rig by the roles of its joints."""
