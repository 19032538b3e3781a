"""The round loop, and the face that users see."""
