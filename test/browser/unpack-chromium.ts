import chromium from '@sparticuz/chromium';

/** A program: unpacks the browser of the package into `TMPDIR`. It takes seconds, and reads where to from there. */
await chromium.executablePath();
