"""The main job: from a character and a sentence to a clip, its run folder and its report."""
