import { describe, expect, it } from 'vitest';

import { responsesDraft, codexFormatDraft, OWN_REASONING } from './conforming.ts';
import type { Draft } from './conforming.ts';
import { textOf } from './rule.ts';
import type { RequestFormat, Seen } from './rule.ts';
import { item, LONG, push, ROWS, set, user, type Row } from './rule-breaks.ts';
import { isRealUuidV7 } from './rules-headers.ts';
import { brokenRules, refusalOf, RULES } from './rules.ts';
import { standardSettings } from './settings.ts';
import type { Settings } from './settings.ts';

const seenOf = (requestFormat: RequestFormat, draft: Draft, settings: Partial<Settings> = {}): Seen => ({
  carrier: 'post',
  body: draft.body,
  headers: draft.headers,
  requestFormat,
  model: textOf(draft.body['model']),
  settings: { ...standardSettings(), ...settings },
  memory: {
    issued: new Map([[OWN_REASONING, 'acc-1']]),
    turnStates: new Map([['state-1', 'another session']]),
  },
});

const said = (draft: Seen): string => {
  const broken = brokenRules(draft);
  const refusal = refusalOf(broken);
  if (refusal === null) return 'counted';
  const { detail, error } = refusal.body as { detail?: string; error?: { message: string } };
  return `${String(refusal.status)} ${detail ?? error?.message ?? ''}`;
};

describe('the rules of the fake', () => {
  it('accept an ordinary request in either request format', () => {
    expect(brokenRules(seenOf('responses', responsesDraft()))).toEqual([]);
    expect(brokenRules(seenOf('codex', codexFormatDraft()))).toEqual([]);
  });

  it('accept the Responses format for codex-format models, with what the codex format cannot express', () => {
    const draft = responsesDraft();
    set('model', 'gpt-6.1-sol')(draft);
    set('tool_choice', { type: 'function', name: 'get_weather' })(draft);
    push(user({ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' }))(draft);
    expect(brokenRules(seenOf('responses', draft))).toEqual([]);
  });

  it('accept what codex 0.166 itself sends: a developer message instead of instructions', () => {
    const draft = responsesDraft();
    delete draft.body['instructions'];
    expect(brokenRules(seenOf('responses', draft, { instructionsNeeded: 'or-developer-message' }))).toEqual(
      [],
    );
  });

  it('accept priority and fields that codex sends', () => {
    const draft = codexFormatDraft();
    set('service_tier', 'priority')(draft);
    set('client_metadata', { turn_id: '1' })(draft);
    set('text', { verbosity: 'low' })(draft);
    item('function_call', { namespace: 'functions' })(draft);
    expect(brokenRules(seenOf('codex', draft))).toEqual([]);
  });

  it.each(ROWS)('%s (%s request format)', (...row) => {
    const [rule, requestFormat, change, answer, settings = {}] = row as unknown as Row;
    const draft = requestFormat === 'responses' ? responsesDraft() : codexFormatDraft();
    change(draft);
    const seen = seenOf(requestFormat, draft, settings);
    expect(brokenRules(seen).map((broken) => broken.rule.id)).toEqual([rule]);
    expect(said(seen)).toContain(answer);
  });

  it('reject an overlong cache key by two rules: it is not a valid identity either', () => {
    const draft = responsesDraft();
    set('prompt_cache_key', LONG)(draft);
    const broken = brokenRules(seenOf('responses', draft));
    expect(broken.map(({ rule }) => rule.id)).toEqual([
      'identity.prompt_cache_key',
      'prompt_cache_key.length',
    ]);
    expect(said(seenOf('responses', draft))).toContain("400 Invalid 'prompt_cache_key': string too long.");
  });

  it('are all covered here', () => {
    const tried = new Set<string>([...ROWS.map(([rule]) => rule), 'prompt_cache_key.length']);
    // rules-socket.test.ts covers those of a WebSocket.
    const ofPosts = RULES.filter(({ on }) => on?.includes('post') !== false);
    expect(ofPosts.map(({ id }) => id).filter((id) => !tried.has(id))).toEqual([]);
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
  });

  it('recognise a genuine UUIDv7', () => {
    const now = Date.UTC(2026, 10, 16);
    expect(isRealUuidV7('0199a000-9546-7660-93d9-4b0546c491e5', now)).toBe(true);
    expect(isRealUuidV7('00000000-0000-7000-8000-000000000000', now)).toBe(false);
    expect(isRealUuidV7('ffffffff-ffff-7fff-bfff-ffffffffffff', now)).toBe(false);
    expect(isRealUuidV7('0199a000-9546-4660-93d9-4b0546c491e5', now)).toBe(false);
    expect(isRealUuidV7(undefined, now)).toBe(false);
  });
});
