"""What the trainings of the video prior and of the pose space share: optimiser, averages, checkpoints, sentences."""
