"""Perdure as LangGraph sees it: saver and store."""
