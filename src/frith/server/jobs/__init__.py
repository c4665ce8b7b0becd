"""Jobs: what can be asked, how a request is queued, charged, worked on and shown."""
