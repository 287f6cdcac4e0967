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
export interface HeaderMarker {
  readonly client: ClientName;
  /** The marker's name in the log. */
  readonly name: string;
  /** All of these headers must match. */
  readonly headers: Readonly<Record<string, RegExp>>;
}

const isJavaScript = { 'x-stainless-lang': /^js$/ };

/** Markers of one program, in order of precedence. */
export const PROGRAM_MARKERS: readonly HeaderMarker[] = [
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
export const LIBRARY_MARKERS: readonly HeaderMarker[] = [
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
