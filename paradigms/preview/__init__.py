"""What a trial looks like before anybody takes it: its timeline as a picture, worked examples, and how long its phases last."""
