import { describe, expect, it } from 'vitest';

import { failureOf } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { openWorkspaceAccess } from './access.ts';

const workspace = (label: string, configuredPath: string): Workspace => ({
  label,
  path: `/real${configuredPath}`,
  configuredPath,
  access: 'write',
  network: 'none',
  read: [],
  write: [],
  hide: [],
  git: false,
  env: {},
  requireApproval: 'always',
  runs: 1,
  maxSeconds: 1_800,
  maxModelRequests: 200,
  callSeconds: 600,
});

const web = workspace('web', '/srv/web');
const docs = workspace('docs-new', '/srv/docs');
const KEYS: Readonly<Record<string, readonly string[] | 'all'>> = {
  settings: 'all',
  docs: ['docs-*'],
  none: [],
};
const access = openWorkspaceAccess([web, docs], (keyId) => KEYS[keyId] ?? []);

const refusal = (keyId: string, text: string) => {
  try {
    access.named(keyId, text, 'environment.workspace_directory');
    return null;
  } catch (error) {
    return failureOf(error);
  }
};

describe('the workspaces of a key', () => {
  it('match its patterns', () => {
    expect(Object.keys(KEYS).map((keyId) => access.usableBy(keyId).map(({ label }) => label))).toEqual([
      ['web', 'docs-new'],
      ['docs-new'],
      [],
    ]);
    expect(access.byLabel('docs', 'docs-new')).toBe(docs);
    expect(access.byLabel('docs', 'web')).toBeNull();
  });

  it('are found by their names and by the paths of the configuration', () => {
    expect(access.named('settings', 'web', 'cwd')).toBe(web);
    expect(access.named('docs', '/srv/docs', 'cwd')).toBe(docs);
  });

  it.each(['/srv/web/', '/srv/web/src', '/srv/docs/../web', '/real/srv/web', 'WEB', '', 'nothing'])(
    'are not found by %j',
    (text) => {
      expect(refusal('settings', text)).toMatchObject({
        status: 400,
        code: 'unknown_workspace',
        param: 'environment.workspace_directory',
        message: `There is no workspace '${text}'. This key may use web, docs-new.`,
      });
    },
  );

  it('are unknown to other keys', () => {
    expect(refusal('docs', 'web')?.message).toBe("There is no workspace 'web'. This key may use docs-new.");
    expect(refusal('none', '/srv/web')?.message).toBe(
      "There is no workspace '/srv/web'. This key may use none.",
    );
  });
});
