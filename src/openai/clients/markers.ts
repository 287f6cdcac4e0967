/** Kinds of clients that are told apart in logs and metrics, and some of them in how they are answered. */
export type ClientName =
  | 'codex'
  | 'obsidian-copilot'
  | 'opencode'
  | 'cursor'
  | 'continue'
  | 'cline'
  | 'open-webui'
  | 'langchain'
  | 'ai-sdk'
  | 'openai-sdk'
  | 'other';

/** What headers of a request tell who sent it. */
export interface HeaderMarker {
  readonly family: ClientName;
  /** What it is called in the log. */
  readonly name: string;
  /** All of them must look so. */
  readonly headers: Readonly<Record<string, RegExp>>;
}

const isJavaScript = { 'x-stainless-lang': /^js$/ };

/** Signs of one program. The families stand in the order in which they are believed. */
export const PROGRAM_SIGNS: readonly HeaderMarker[] = [
  { family: 'codex', name: 'originator', headers: { originator: /^codex_/ } },
  // An editor that runs codex gives its own name as the originator.
  { family: 'codex', name: 'x-codex-turn-metadata', headers: { 'x-codex-turn-metadata': /./ } },
  {
    family: 'obsidian-copilot',
    name: 'dangerously-allow-browser',
    headers: { 'dangerously-allow-browser': /^true$/ },
  },
  {
    family: 'obsidian-copilot',
    name: 'origin',
    headers: { ...isJavaScript, origin: /^app:\/\/obsidian\.md$/ },
  },
  {
    family: 'obsidian-copilot',
    name: 'user-agent-obsidian',
    headers: { ...isJavaScript, 'user-agent': / obsidian\//i },
  },
  {
    family: 'obsidian-copilot',
    name: 'user-agent-langchain-browser',
    headers: { 'user-agent': /^langchainjs-openai\/.* ?\(browser\)/ },
  },
  {
    family: 'obsidian-copilot',
    name: 'referer-and-title',
    headers: {
      'http-referer': /^https:\/\/obsidiancopilot\.com\/?$/,
      'x-title': /^Obsidian Copilot$/,
    },
  },
  { family: 'obsidian-copilot', name: 'x-copilot-trace-id', headers: { 'x-copilot-trace-id': /./ } },
  { family: 'opencode', name: 'user-agent', headers: { 'user-agent': /^opencode\//i } },
  { family: 'cursor', name: 'user-agent', headers: { 'user-agent': /^cursor\b/i } },
  { family: 'continue', name: 'user-agent', headers: { 'user-agent': /^continue\b/i } },
  { family: 'cline', name: 'user-agent', headers: { 'user-agent': /^(?:cline|roo-?code)\b/i } },
  { family: 'cline', name: 'x-title', headers: { 'x-title': /^(?:Cline|Roo Code)$/ } },
  { family: 'open-webui', name: 'x-title', headers: { 'x-title': /^Open WebUI$/ } },
  // Sent to every provider where it is set to tell who asks; its title goes to OpenRouter alone.
  { family: 'open-webui', name: 'x-openwebui-user-id', headers: { 'x-openwebui-user-id': /./ } },
  { family: 'open-webui', name: 'user-agent', headers: { 'user-agent': /^open-?webui\b/i } },
];

/** Signs of a library that many programs are made with: they count where nothing else tells. */
export const LIBRARY_SIGNS: readonly HeaderMarker[] = [
  { family: 'langchain', name: 'user-agent', headers: { 'user-agent': /^langchain/i } },
  { family: 'ai-sdk', name: 'user-agent', headers: { 'user-agent': /\bai-sdk\//i } },
  { family: 'openai-sdk', name: 'x-stainless-lang', headers: { 'x-stainless-lang': /./ } },
];

/** Every header that is looked at. */
export const SIGN_HEADERS: readonly string[] = [...PROGRAM_SIGNS, ...LIBRARY_SIGNS].flatMap((marker) =>
  Object.keys(marker.headers),
);
