import type { TurnRequest } from '../../canonical/request/turn-request.ts';

/** Clients that logs and metrics distinguish; some also get a different answer format. */
export type ClientName =
  | 'codex'
  | 'claude-code'
  | 'obsidian-copilot'
  | 'opencode'
  | 'cursor'
  | 'continue'
  | 'cline'
  | 'open-webui'
  | 'langchain'
  | 'ai-sdk'
  | 'anthropic-sdk'
  | 'openai-sdk'
  | 'other';

/** Request headers that identify a client. */
interface HeaderMarker {
  readonly client: ClientName;
  /** The marker's name in the log. */
  readonly name: string;
  /** All of these headers must match. */
  readonly headers: Readonly<Record<string, RegExp>>;
}

const isJavaScript = { 'x-stainless-lang': /^js$/ };

/** Markers of one program, in order of precedence. */
const PROGRAM_MARKERS: readonly HeaderMarker[] = [
  { client: 'codex', name: 'originator', headers: { originator: /^codex_/ } },
  // An editor that runs codex sends its own name as the originator.
  { client: 'codex', name: 'x-codex-turn-metadata', headers: { 'x-codex-turn-metadata': /./ } },
  { client: 'claude-code', name: 'user-agent', headers: { 'user-agent': /^claude-(?:cli|code)\//i } },
  {
    client: 'claude-code',
    name: 'x-claude-code-session-id',
    headers: { 'x-claude-code-session-id': /./ },
  },
  {
    client: 'obsidian-copilot',
    name: 'dangerously-allow-browser',
    headers: { 'dangerously-allow-browser': /^true$/ },
  },
  {
    client: 'obsidian-copilot',
    name: 'origin',
    headers: { ...isJavaScript, origin: /^app:\/\/obsidian\.md$/ },
  },
  {
    client: 'obsidian-copilot',
    name: 'user-agent-obsidian',
    headers: { ...isJavaScript, 'user-agent': / obsidian\//i },
  },
  {
    client: 'obsidian-copilot',
    name: 'user-agent-langchain-browser',
    headers: { 'user-agent': /^langchainjs-openai\/.* ?\(browser\)/ },
  },
  {
    client: 'obsidian-copilot',
    name: 'referer-and-title',
    headers: {
      'http-referer': /^https:\/\/obsidiancopilot\.com\/?$/,
      'x-title': /^Obsidian Copilot$/,
    },
  },
  { client: 'obsidian-copilot', name: 'x-copilot-trace-id', headers: { 'x-copilot-trace-id': /./ } },
  { client: 'opencode', name: 'user-agent', headers: { 'user-agent': /^opencode\//i } },
  { client: 'cursor', name: 'user-agent', headers: { 'user-agent': /^cursor\b/i } },
  { client: 'continue', name: 'user-agent', headers: { 'user-agent': /^continue\b/i } },
  { client: 'cline', name: 'user-agent', headers: { 'user-agent': /^(?:cline|roo-?code)\b/i } },
  { client: 'cline', name: 'x-title', headers: { 'x-title': /^(?:Cline|Roo Code)$/ } },
  { client: 'open-webui', name: 'x-title', headers: { 'x-title': /^Open WebUI$/ } },
  // Sent to every provider if user forwarding is enabled; the title is only sent to OpenRouter.
  { client: 'open-webui', name: 'x-openwebui-user-id', headers: { 'x-openwebui-user-id': /./ } },
  { client: 'open-webui', name: 'user-agent', headers: { 'user-agent': /^open-?webui\b/i } },
];

/** Markers of libraries that many programs use. They count only if nothing else matches. */
const LIBRARY_MARKERS: readonly HeaderMarker[] = [
  { client: 'langchain', name: 'user-agent', headers: { 'user-agent': /^langchain/i } },
  { client: 'ai-sdk', name: 'user-agent', headers: { 'user-agent': /\bai-sdk\//i } },
  {
    client: 'anthropic-sdk',
    name: 'x-stainless-lang',
    // The OpenAI SDK sends the same header without a version.
    headers: { 'x-stainless-lang': /./, 'anthropic-version': /./ },
  },
  { client: 'openai-sdk', name: 'x-stainless-lang', headers: { 'x-stainless-lang': /./ } },
];

/** Every header that client detection reads. */
export const MARKER_HEADERS: readonly string[] = [...PROGRAM_MARKERS, ...LIBRARY_MARKERS].flatMap((marker) =>
  Object.keys(marker.headers),
);

/** Limits on the searched text, per text and in total. Prompts are at the beginning. */
const MAX_TEXT_CHARS = 64 * 1024;
const MAX_CHARS = 512 * 1024;

/** Texts that show that the prompt tells the model to write its calls as `<use_tool>` blocks. */
const MARKERS = [
  { name: 'use-tool-block', text: '<use_tool>' },
  { name: 'agent-mode-prompt', text: '# Autonomous Agent Mode' },
] as const;

/** The first marker in the instructions or messages of a request, or null. */
export const promptMarker = ({ instructions, items }: TurnRequest): string | null => {
  let left = MAX_CHARS;
  const markerIn = (text: string): string | null => {
    const beginning = text.slice(0, Math.min(MAX_TEXT_CHARS, left));
    left -= beginning.length;
    return MARKERS.find((one) => beginning.includes(one.text))?.name ?? null;
  };
  const first = instructions === null ? null : markerIn(instructions);
  if (first !== null) return first;
  for (const item of items) {
    if (item.kind !== 'message') continue;
    for (const part of item.parts) {
      if (left <= 0) return null;
      const marker = part.kind === 'text' ? markerIn(part.text) : null;
      if (marker !== null) return marker;
    }
  }
  return null;
};

/** The client that sent a request, as far as it can be detected. */
export interface DetectedClient {
  readonly name: ClientName;
  /** Where its markers were found. */
  readonly source: 'header' | 'body' | 'none';
  /** The markers that matched, for the log. */
  readonly reasons: readonly string[];
}

const UNKNOWN_CLIENT: DetectedClient = { name: 'other', source: 'none', reasons: [] };

/** Detects the client: by headers of a program, else by its prompt, else by headers of a library. */
export const detectClient = (headers: Headers, request: TurnRequest): DetectedClient => {
  const values = new Map(READ_HEADERS.map((name) => [name, headers.get(name) ?? '']));
  return (
    byHeaders(values, PROGRAM_MARKERS) ??
    byPrompt(request) ??
    byHeaders(values, LIBRARY_MARKERS) ??
    UNKNOWN_CLIENT
  );
};

/** Several markers read the same header. */
const READ_HEADERS: readonly string[] = [...new Set(MARKER_HEADERS)];

type HeaderValues = ReadonlyMap<string, string>;

const byHeaders = (headers: HeaderValues, markers: readonly HeaderMarker[]): DetectedClient | null => {
  const found = markers.filter((marker) => hasMarker(headers, marker));
  const client = found[0]?.client;
  if (client === undefined) return null;
  return {
    name: client,
    source: 'header',
    reasons: found.filter((marker) => marker.client === client).map(({ name }) => name),
  };
};

const hasMarker = (headers: HeaderValues, marker: HeaderMarker): boolean => {
  for (const name in marker.headers) {
    if (marker.headers[name]?.test(headers.get(name) ?? '') !== true) return false;
  }
  return true;
};

/** A client that declares tools does not need blocks, so a block in its conversation proves nothing. */
const byPrompt = (request: TurnRequest): DetectedClient | null => {
  const marker = request.tools.length > 0 ? null : promptMarker(request);
  return marker === null ? null : { name: 'obsidian-copilot', source: 'body', reasons: [marker] };
};
