import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

import * as fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';

import { keyFor, openConnectRoom, PLACES, startModelList } from '../../../test/support/connect-room.ts';

const models = await startModelList();
afterAll(() => models.close());

let room: ReturnType<typeof openConnectRoom>;
beforeEach(() => {
  room = openConnectRoom(models.port);
});
afterEach(() => room.close());

const SETTINGS = '.claude/settings.json';

describe('connect with files that are there', () => {
  const comment: Readonly<Record<string, string>> = { json: '// mine', toml: '# mine', yaml: '# mine' };

  it('restores the bytes, the mode and the comments of any file', async () => {
    const words = fc.dictionary(fc.stringMatching(/^[f-m]{2,5}$/), fc.integer(), { minKeys: 1, maxKeys: 3 });
    const layout = fc.record({
      eol: fc.constantFrom('\n', '\r\n'),
      isEnded: fc.boolean(),
      mode: fc.constantFrom(0o600, 0o644, 0o640),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.entries(PLACES)),
        words,
        layout,
        async ([name, places], object, form) => {
          const entries = Object.entries(object);
          const textFor = (place: string): string => {
            const kind = path.extname(place).slice(1);
            const lines =
              kind === 'json'
                ? [
                    '{',
                    '  // mine',
                    ...entries.map(
                      ([key, value], index) =>
                        `   "${key}" : ${value}${index === entries.length - 1 ? '' : ','}`,
                    ),
                    '}',
                  ]
                : [
                    comment[kind] ?? '',
                    ...entries.map(([key, value]) =>
                      kind === 'toml' ? `${key}=${value}` : `${key}:  ${value}`,
                    ),
                  ];
            return lines.join(form.eol) + (form.isEnded ? form.eol : '');
          };
          for (const place of places) room.put(place, textFor(place), form.mode);
          expect(await room.run(`connect ${name} --yes`)).toMatchObject({ code: 0 });
          for (const place of places) {
            expect(room.read(place)).toContain(comment[path.extname(place).slice(1)]);
            if (room.read(place).includes(keyFor(name))) expect(room.modeOf(place)).toBe(0o600);
            if (form.eol === '\r\n') expect(room.read(place)).not.toMatch(/[^\r]\n/);
          }
          // With another model, twice: the first state is the one that counts.
          expect(await room.run(`connect ${name} --yes --model gpt-5.5`)).toMatchObject({ code: 0 });
          expect(await room.run(`connect ${name} --undo --yes`)).toMatchObject({ code: 0 });
          for (const place of places)
            expect([room.read(place), room.modeOf(place)]).toEqual([textFor(place), form.mode]);
          for (const place of places) rmSync(room.at(place));
        },
      ),
      { numRuns: 20 },
    );
  });

  it('takes back its own settings only, if the file was edited since', async () => {
    room.put(SETTINGS, '{"env": {"ANTHROPIC_BASE_URL": "https://old"}, "model": "opus"}\n');
    await room.run('connect claude --yes');
    const edited = JSON.parse(room.read(SETTINGS)) as { env: Record<string, string>; added?: boolean };
    edited.env['CLAUDE_CODE_MAX_CONTEXT_TOKENS'] = '5';
    edited.env['THEIRS'] = 'x';
    writeFileSync(room.at(SETTINGS), JSON.stringify({ ...edited, added: true }));
    expect((await room.run('connect')).out).toContain('claude       connected, changed since');
    const { code, err } = await room.run('connect claude --undo --yes');
    expect(code).toBe(0);
    expect(err).toContain('env.CLAUDE_CODE_MAX_CONTEXT_TOKENS changed since, and stays.');
    expect(JSON.parse(room.read(SETTINGS))).toEqual({
      env: { ANTHROPIC_BASE_URL: 'https://old', CLAUDE_CODE_MAX_CONTEXT_TOKENS: '5', THEIRS: 'x' },
      model: 'opus',
      added: true,
    });
  });

  it('does not undo in a file that has become unreadable, and names the settings', async () => {
    room.put('.codex/config.toml', 'a = 1\n');
    await room.run('connect codex --yes');
    writeFileSync(room.at('.codex/config.toml'), 'a = \n');
    const { code, err } = await room.run('connect codex --undo --yes');
    expect([code, room.read('.codex/config.toml')]).toEqual([1, 'a = \n']);
    expect(err).toContain('Remove these settings by hand: model, model_provider, model_providers.proxy.name');
    writeFileSync(room.at('.codex/config.toml'), 'a = 1\n');
    expect(await room.run('connect codex --undo --yes')).toMatchObject({ code: 0 });
  });

  it('keeps a copy of the file next to the state of the server', async () => {
    room.put(SETTINGS, '{"a": 1}');
    const { err } = await room.run('connect claude --yes');
    const [, backup = ''] = /The former file is kept as (.+)\n/.exec(err) ?? [];
    expect([path.dirname(backup), readFileSync(backup, 'utf8')]).toEqual([
      room.at('state/connect/claude'),
      '{"a": 1}',
    ]);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
  });

  it('follows links, also to a file that is missing, and leaves them', async () => {
    for (const exists of [true, false]) {
      if (exists) room.put('dotfiles/claude.json', '{}\n');
      else rmSync(room.at('dotfiles/claude.json'));
      mkdirSync(room.at('.claude'), { recursive: true });
      symlinkSync('../dotfiles/claude.json', room.at(SETTINGS));
      await room.run('connect claude --yes');
      expect([lstatSync(room.at(SETTINGS)).isSymbolicLink(), room.read('dotfiles/claude.json')]).toEqual([
        true,
        room.read(SETTINGS),
      ]);
      await room.run('connect claude --undo --yes');
      expect([
        lstatSync(room.at(SETTINGS)).isSymbolicLink(),
        existsSync(room.at('dotfiles/claude.json')),
      ]).toEqual([true, exists]);
      rmSync(room.at('.claude'), { recursive: true });
    }
  });

  it.each<readonly [string, string, number, string]>([
    [
      'claude',
      '{"env": {"a": "b",',
      0o644,
      'settings.json: line 1, column 19: a key in double quotes is expected.',
    ],
    ['claude', '{"env": []}', 0o644, 'settings.json: env is not an object.'],
    ['claude', '{}', 0o444, 'settings.json is read-only: run chmod u+w on it first.'],
    ['codex', 'model_providers = { a = { b = "c" } }', 0o644, 'does not edit.'],
    ['continue', 'models: [{name: a}]', 0o644, 'models is not a list with one item per line.'],
  ])('%s: refuses %j (mode %i), and prints what the file needs', async (name, text, mode, message) => {
    const [place = ''] = PLACES[name] ?? [];
    room.put(place, text, mode);
    const { code, out, err } = await room.run(`connect ${name} --yes`);
    expect([code, room.read(place), room.modeOf(place)]).toEqual([1, text, mode]);
    expect(err).toContain(`${message} Nothing was written. Above is what the file needs.`);
    expect(out).toContain(keyFor(name));
    expect(existsSync(room.at(`state/connect/${name}/record.json`))).toBe(false);
  });

  it.each<readonly [string, Record<string, string>, string]>([
    ['claude', { CLAUDE_CONFIG_DIR: 'x' }, 'x/settings.json'],
    ['codex', { CODEX_HOME: 'x' }, 'x/config.toml'],
    ['opencode', { XDG_CONFIG_HOME: 'x' }, 'x/opencode/opencode.json'],
    ['cline', { CLINE_DATA_DIR: 'x', CLINE_DIR: 'y' }, 'x/settings/providers.json'],
    ['cline', { CLINE_DIR: 'y' }, 'y/data/settings/providers.json'],
    ['continue', { CONTINUE_GLOBAL_DIR: 'x' }, 'x/config.yaml'],
    ['qwen-code', { QWEN_HOME: 'x' }, 'x/settings.json'],
    ['pi', { PI_CODING_AGENT_DIR: 'x' }, 'x/models.json'],
  ])('%s: finds the folder of %j', async (name, variables, file) => {
    const environment = Object.fromEntries(
      Object.entries(variables).map(([key, folder]) => [key, room.at(folder)]),
    );
    mkdirSync(room.at('x'));
    expect(await room.run(`connect ${name} --yes`, { environment })).toMatchObject({ code: 0 });
    expect(room.read(file)).toContain(`127.0.0.1:${models.port}`);
  });

  it('uses opencode.jsonc if it is there', async () => {
    room.put('.config/opencode/opencode.jsonc', '{\n  // mine\n}\n');
    await room.run('connect opencode --yes');
    expect(readdirSync(room.at('.config/opencode'))).toEqual(['opencode.jsonc']);
    expect(room.read('.config/opencode/opencode.jsonc')).toContain('  // mine\n  "$schema":');
  });
});
