"""Evaluation: metrics of a clip, names of gaits, the prior as a judge of words, `kinema eval`, VideoPhy."""
