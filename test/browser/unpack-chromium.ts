import chromium from '@sparticuz/chromium';

/** A program that unpacks the package's browser into `TMPDIR`, which takes seconds. */
await chromium.executablePath();
