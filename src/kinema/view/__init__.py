"""The browser: a page with a character and its motions (`viewer`), a live run (`live`), a recording for notebooks
(`notebook`), behind a guarded server (`server`); and SVG plots (`plots`, `contacts`) for pages and reports."""
