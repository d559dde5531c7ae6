"""How a scene becomes something to see: pixels, a window, letters, colours."""
