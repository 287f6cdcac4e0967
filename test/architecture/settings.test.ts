import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';

import { ALL_SETTINGS } from '../../src/compose/features.ts';
import { fileKeyOf } from '../../src/config/setting-row.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const rows = Object.entries(ALL_SETTINGS);

describe('settings', () => {
  it('are all read by something', () => {
    const files = globSync('src/**/*.ts', { cwd: ROOT }).filter(
      (file) => !file.startsWith(path.join('src', 'config')) && !/\.test\.ts$|generated/.test(file),
    );
    const source = files.map(read).join('\n');
    // The loader itself reads the files of MCP servers.
    const unread = rows.filter(
      ([name, { field }]) => name !== 'PROXY_MCP_CONFIG' && !new RegExp(`\\b${field}\\b`).test(source),
    );
    expect(
      unread.map(([name]) => name),
      'Every setting is read by compose, the command line or its feature: pass it to the part that uses it, or remove it.',
    ).toEqual([]);
  });

  it('have a place of their own in the configuration, and a key of their own in the file', () => {
    const places = rows.map(([, { slice, field }]) => `${slice}.${field}`);
    expect(new Set(places).size).toBe(rows.length);
    expect(new Set(rows.map(([name]) => fileKeyOf(name))).size).toBe(rows.length);
  });

  it('have a schema that accepts the example of the docs and rejects mistakes', () => {
    const validate = new Ajv2020({ strict: true }).compile(
      JSON.parse(read('docs/config.schema.json')) as object,
    );
    const [, example = ''] = /```json\n(.+?)```/su.exec(read('docs/configuration.md')) ?? [];
    const content = JSON.parse(example) as object;
    expect([validate(content), validate.errors]).toEqual([true, null]);
    for (const wrong of [
      { prot: 1 },
      { port: '80' },
      { config: 'x' },
      { demo: 1 },
      { modelAliases: ['a'] },
      { mcpServers: { a: 1 } },
      { toolTransport: 'spoken' },
    ]) {
      expect([wrong, validate({ ...content, ...wrong })]).toEqual([wrong, false]);
    }
  });
});
