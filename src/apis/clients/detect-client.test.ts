import { describe, expect, it } from 'vitest';

import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { turnRequest, functionTool } from '../../../test/support/turn-request.ts';
import { detectClient, type DetectedClient } from './detect-client.ts';

const seen = (headers: Record<string, string>, different: Partial<TurnRequest> = {}): DetectedClient =>
  detectClient(new Headers(headers), turnRequest(different));

const saying = (text: string, role: 'system' | 'assistant' = 'system'): Partial<TurnRequest> => ({
  items: [{ kind: 'message', role, parts: [{ kind: 'text', text }] }],
});

describe('detectClient', () => {
  it.each<[string, string, Record<string, string>]>([
    ['codex', 'originator', { originator: 'codex_cli_rs' }],
    ['codex', 'x-codex-turn-metadata', { originator: 'an_editor', 'x-codex-turn-metadata': '{}' }],
    ['cline', 'x-title', { 'x-title': 'Roo Code' }],
    ['open-webui', 'user-agent', { 'user-agent': 'OpenWebUI/0.6' }],
    ['obsidian-copilot', 'dangerously-allow-browser', { 'dangerously-allow-browser': 'true' }],
    ['obsidian-copilot', 'origin', { 'x-stainless-lang': 'js', origin: 'app://obsidian.md' }],
    [
      'obsidian-copilot',
      'user-agent-obsidian',
      {
        'x-stainless-lang': 'js',
        'user-agent': 'Mozilla/5.0 (Macintosh) obsidian/1.8.9 Chrome/130 Electron/33',
      },
    ],
    [
      'obsidian-copilot',
      'user-agent-langchain-browser',
      { 'user-agent': 'langchainjs-openai/1.0.0 (browser)' },
    ],
    [
      'obsidian-copilot',
      'referer-and-title',
      { 'http-referer': 'https://obsidiancopilot.com', 'x-title': 'Obsidian Copilot' },
    ],
    ['obsidian-copilot', 'x-copilot-trace-id', { 'x-copilot-trace-id': '1' }],
    ['opencode', 'user-agent', { 'user-agent': 'opencode/1.18.0 ai-sdk/provider-utils/3.0.9' }],
    ['cursor', 'user-agent', { 'user-agent': 'Cursor/1.0' }],
    ['continue', 'user-agent', { 'user-agent': 'Continue/1.2.3' }],
    ['cline', 'user-agent', { 'user-agent': 'Cline/3.1.0', 'x-stainless-lang': 'js' }],
    ['open-webui', 'x-title', { 'x-title': 'Open WebUI' }],
    ['open-webui', 'x-openwebui-user-id', { 'x-openwebui-user-id': '7' }],
    ['langchain', 'user-agent', { 'user-agent': 'langchainjs-openai/1.0.0 (node)' }],
    ['ai-sdk', 'user-agent', { 'user-agent': 'ai-sdk/openai-compatible/1.0 runtime/node.js/24' }],
    ['claude-code', 'user-agent', { 'user-agent': 'claude-cli/2.1.325 (external, cli)' }],
    ['claude-code', 'x-claude-code-session-id', { 'x-claude-code-session-id': 'b1d2' }],
    ['anthropic-sdk', 'x-stainless-lang', { 'x-stainless-lang': 'js', 'anthropic-version': '2023-06-01' }],
    ['openai-sdk', 'x-stainless-lang', { 'x-stainless-lang': 'python', 'user-agent': 'OpenAI/Python 2.1.0' }],
  ])('detects %s by %s', (name, reason, headers) => {
    expect(seen(headers)).toEqual({ name, source: 'header', reasons: [reason] });
  });

  it.each<[string, Record<string, string>]>([
    ['an origin alone', { origin: 'app://obsidian.md' }],
    ['a user agent alone', { 'user-agent': 'Mozilla/5.0 obsidian/1.8.9' }],
    ['half of a marker', { 'x-title': 'Obsidian Copilot' }],
    ['nothing', {}],
  ])('detects no client by %s', (_, headers) => {
    expect(seen(headers)).toEqual({ name: 'other', source: 'none', reasons: [] });
  });

  it('lists all markers of the client', () => {
    const headers = {
      'dangerously-allow-browser': 'true',
      'x-copilot-trace-id': '1',
      'x-stainless-lang': 'js',
    };
    expect(seen(headers).reasons).toEqual(['dangerously-allow-browser', 'x-copilot-trace-id']);
  });

  it('prefers the prompt to the library', () => {
    const library = { 'x-stainless-lang': 'js' };
    const body = { name: 'obsidian-copilot', source: 'body' };
    expect(seen(library, saying('Write <use_tool> blocks.'))).toEqual({
      ...body,
      reasons: ['use-tool-block'],
    });
    expect(seen({}, saying('# Autonomous Agent Mode', 'assistant'))).toEqual({
      ...body,
      reasons: ['agent-mode-prompt'],
    });
    expect(seen({}, { instructions: 'x <use_tool>' })).toMatchObject(body);
    expect(seen({ originator: 'codex_exec' }, saying('<use_tool>')).name).toBe('codex');
    expect(seen(library, { ...saying('<use_tool>'), tools: [functionTool('f')] }).name).toBe('openai-sdk');
  });

  it('searches only the beginning of texts', () => {
    expect(seen({}, saying(`${'x'.repeat(64 * 1024)}<use_tool>`)).name).toBe('other');
    const many = Array.from({ length: 10 }, () => saying('y'.repeat(64 * 1024)).items ?? []).flat();
    expect(seen({}, { items: [...many, ...(saying('<use_tool>').items ?? [])] }).name).toBe('other');
  });
});
