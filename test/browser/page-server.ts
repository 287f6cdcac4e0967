import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

const PACKAGES = path.join(import.meta.dirname, '../../node_modules');

export interface PageServer {
  readonly port: number;
  close(): Promise<void>;
}

const html = (script: string): string =>
  `<!doctype html><title>A page</title><script type="module">${script}</script>`;

/** Pages on this machine: an empty one, one with an opaque origin, and one with OpenAI's own package. */
const PAGES: Readonly<Record<string, { readonly body: string; readonly headers?: Record<string, string> }>> =
  {
    '/': { body: html('') },
    '/sandboxed': { body: html(''), headers: { 'content-security-policy': 'sandbox allow-scripts' } },
    '/openai': { body: html("import OpenAI from '/openai/index.mjs'; globalThis.OpenAI = OpenAI;") },
  };

export const startPageServer = async (): Promise<PageServer> => {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page.test');
    const page = PAGES[pathname];
    if (page !== undefined) {
      response.writeHead(200, { 'content-type': 'text/html', ...page.headers }).end(page.body);
      return;
    }
    const isModule = /^\/openai\/[\w/-]+(?:\.[\w-]+)*\.m?js$/.test(pathname);
    readFile(isModule ? path.join(PACKAGES, pathname) : '').then(
      (module) => response.writeHead(200, { 'content-type': 'text/javascript' }).end(module),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
