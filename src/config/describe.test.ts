import { describe, expect, it } from 'vitest';
import { describeConfig } from './describe.ts';
import { SETTINGS } from './schema.ts';

describe('describeConfig', () => {
  it('has one row for every setting', () => {
    const keys = [...describeConfig().matchAll(/^\| `([A-Z_]+)`/gm)].map((match) => match[1]);
    expect(new Set(keys)).toEqual(new Set(Object.keys(SETTINGS)));
    expect(keys).toHaveLength(Object.keys(SETTINGS).length);
  });

  it('gives default, allowed values, unit and meaning', () => {
    const lines = describeConfig().split('\n');
    expect(lines).toContain(
      '| `PROXY_DRAIN_TIMEOUT_MS` | `30000` | a whole number from 0 to 2147483647 (ms) | How long running answers may take to finish after SIGTERM before they are interrupted. |',
    );
    expect(lines).toContain(
      '| `PROXY_UPSTREAM_API_KEY` (secret) | not set | visible ASCII characters without spaces | The key for that provider. The relay sets it; without the relay codex gets it by environment. It is never written to a file. |',
    );
  });
});
