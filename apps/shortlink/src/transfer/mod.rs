//! Import and export of links as TSV, CSV and JSON lines.
