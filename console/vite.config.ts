import path from 'node:path';

import { defineConfig } from 'vite';

/** Builds the console into `console/dist`. `npm run console:dev` serves it and passes API requests to a running server. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  // The test runner and other tools have their own settings in the folder above.
  envDir: false,
  build: {
    outDir: path.join(import.meta.dirname, 'dist'),
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy allows files of this server only: nothing inline, no data URLs of scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
