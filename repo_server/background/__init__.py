"""What goes on beside the requests: jobs light enough for the server itself."""
