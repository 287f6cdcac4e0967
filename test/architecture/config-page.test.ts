import { describe, expect, it } from 'vitest';
import { describeConfig } from '../../scripts/pages/config.ts';
import { ALL_SETTINGS } from '../../src/compose/features.ts';
import { GROUPS } from '../../src/config/setting-row.ts';

describe('describeConfig', () => {
  it('has one row for every setting', () => {
    const keys = [...describeConfig().matchAll(/^\| `([A-Z_]+)`/gm)].map((match) => match[1]);
    expect(new Set(keys)).toEqual(new Set(Object.keys(ALL_SETTINGS)));
    expect(keys).toHaveLength(Object.keys(ALL_SETTINGS).length);
  });

  it('lists the settings by group, about ten of them for every day', () => {
    const groups = Object.values(ALL_SETTINGS).map(({ group }) => group);
    expect(groups.filter((group) => group === 'everyday')).toHaveLength(10);
    const headings = [...describeConfig().matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([...Object.values(GROUPS).map(({ title }) => title), 'Config file']);
  });

  it('gives default, allowed values, unit and meaning', () => {
    const lines = describeConfig().split('\n');
    expect(lines).toContain(
      '| `PROXY_DRAIN_TIMEOUT_MS` | `30000` | 0 to 2147483647 ms | How long running answers may take to finish after SIGTERM before they are interrupted. |',
    );
    expect(lines).toContain(
      '| `PROXY_UPSTREAM_API_KEY` (secret) | not set | visible ASCII characters without spaces | The API key for that provider. The relay adds it to requests; with `PROXY_WIRE=off` codex gets it in its environment. This server never writes it to a file. |',
    );
  });
});
