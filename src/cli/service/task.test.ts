import { describe, expect, it } from 'vitest';

import { findProgram } from './task.ts';

const USUAL = {
  root: '/usr/local/lib/node_modules/codex-app-server-proxy',
  node: '/usr/local/bin/node',
  versions: ['24.21.0', '0.2.0'],
  temporary: ['/tmp', '/var/tmp'],
  exists: () => false,
};
const SCRIPT = '/bin/codex-app-server-proxy.js';

describe('the program of a service', () => {
  it('is the running Node and the script of this package', () => {
    expect(findProgram(USUAL)).toEqual({
      node: USUAL.node,
      script: USUAL.root + SCRIPT,
      refusal: null,
      warnings: [],
    });
  });

  it.each([
    ['/home/ann/.npm/_npx/1f2e/node_modules/codex-app-server-proxy', "npx's cache"],
    ['/home/ann/.cache/pnpm/dlx/9a/node_modules/codex-app-server-proxy', "pnpm's cache of dlx"],
    ['/home/ann/.cache/pnpm/dlx-4711/node_modules/codex-app-server-proxy', "pnpm's cache of dlx"],
    ['/tmp/bunx-0-codex-app-server-proxy@latest/node_modules/codex-app-server-proxy', "bunx's cache"],
    ['/tmp/xfs-1f2e/dlx/node_modules/codex-app-server-proxy', "pnpm's cache of dlx"],
    ['/var/tmp/try/codex-app-server-proxy', 'a folder for temporary files'],
  ])('is refused in %s', (root, place) => {
    expect(findProgram({ ...USUAL, root }).refusal).toBe(
      `This copy of the program is in ${place} (${root}) and will not stay there. ` +
        'Install the package with npm install --global, then run codex-app-server-proxy service install.',
    );
  });

  it.each(['/home/ann/src/proxy', '/tmpfiles/proxy', '/home/ann/dlxs/proxy'])('is accepted in %s', (root) => {
    expect(findProgram({ ...USUAL, root })).toEqual({
      node: USUAL.node,
      script: root + SCRIPT,
      refusal: null,
      warnings: [],
    });
  });

  it.each([
    '/home/ann/.nvm/versions/node/v24.21.0/bin/node',
    '/home/ann/.local/share/mise/installs/node/24.21.0/bin/node',
    '/opt/node-v24.21.0-linux-x64/bin/node',
    '/opt/homebrew/Cellar/node/24.21.0_1/bin/node',
  ])('with a version in its path is reported: %s', (node) => {
    expect(findProgram({ ...USUAL, node }).warnings).toEqual([
      `${node} contains a version in its path: after an update that moves it, run service install again.`,
    ]);
  });

  it('with the version of this package in its path is reported', () => {
    const root =
      '/home/ann/pnpm/global/5/.pnpm/codex-app-server-proxy@0.2.0/node_modules/codex-app-server-proxy';
    expect(findProgram({ ...USUAL, root }).warnings).toHaveLength(1);
  });

  it("is Homebrew's link, which stays after an update", () => {
    const link = '/opt/homebrew/opt/node@24/bin/node';
    const exists = (file: string) => file === link;
    expect(
      findProgram({ ...USUAL, node: '/opt/homebrew/Cellar/node@24/24.21.0/bin/node', exists }),
    ).toMatchObject({ node: link, warnings: [] });
  });
});
