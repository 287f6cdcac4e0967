import { expect, it } from 'vitest';

import { isRunByClient, type RawTool } from './tool.ts';

it('knows the hosted tools that the client runs', () => {
  const tools: readonly RawTool[] = [
    { type: 'web_search' },
    { type: 'mcp' },
    { type: 'shell', environment: { type: 'container_auto' } },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'shell' },
    { type: 'local_shell' },
    { type: 'computer_use_preview' },
    { type: 'apply_patch' },
  ];
  const run = tools.filter((raw) => isRunByClient({ kind: 'hosted', raw }));
  expect(run).toEqual(tools.slice(3));
});
