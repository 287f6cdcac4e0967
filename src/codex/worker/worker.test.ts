import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { isAlive } from '../../../test/support/is-alive.ts';
import { until } from '../../../test/support/until.ts';
import { endSession } from './worker.ts';

describe('endSession', () => {
  const LEAVES_ONE = `
  const { spawn } = require('node:child_process');
  const left = spawn('sleep', ['60'], { stdio: 'ignore' });
  process.stdout.write(String(left.pid), () => process.exit());
`;

  it.runIf(process.platform === 'linux')(
    'ends the processes that a process left behind, and no others',
    { meta: { needs: 'sessions of processes: Linux' } },
    async () => {
      const start = async (): Promise<{ readonly session: number; readonly left: number }> => {
        const child = spawn(process.execPath, ['-e', LEAVES_ONE], {
          detached: true,
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        let said = '';
        child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
        await once(child, 'close');
        return { session: child.pid ?? 0, left: Number(said) };
      };
      const [first, second] = await Promise.all([start(), start()]);
      expect([first.left, second.left].map(isAlive)).toEqual([true, true]);
      await endSession(first.session, 0);
      await until(() => !isAlive(first.left));
      expect(isAlive(second.left)).toBe(true);
      await endSession(second.session, 0);
      await until(() => !isAlive(second.left));
      await endSession(first.session, 0);
    },
  );
});
