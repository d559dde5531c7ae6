"""Sessions of people at browsers: who visits, what is offered to them, and the server that their
pages talk to."""
