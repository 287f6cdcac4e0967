/** Kinds of clients that are told apart in logs and metrics, and some of them in how they are answered. */
export type ClientFamily =
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

/** Something in the headers of a request that tells who sent it. */
export interface HeaderSign {
  readonly family: ClientFamily;
  /** What it is called in the log. */
  readonly name: string;
  readonly isIn: (headers: Headers) => boolean;
}

const has =
  (header: string, pattern: RegExp) =>
  (headers: Headers): boolean =>
    pattern.test(headers.get(header) ?? '');

const agent = (pattern: RegExp): HeaderSign['isIn'] => has('user-agent', pattern);

const isInAll =
  (...tests: readonly HeaderSign['isIn'][]): HeaderSign['isIn'] =>
  (headers) =>
    tests.every((test) => test(headers));

const isJavaScript = has('x-stainless-lang', /^js$/);

/** Signs of one program. The families stand in the order in which they are believed. */
export const PROGRAM_SIGNS: readonly HeaderSign[] = [
  { family: 'codex', name: 'originator', isIn: has('originator', /^codex_/) },
  // An editor that runs codex gives its own name as the originator.
  { family: 'codex', name: 'x-codex-turn-metadata', isIn: has('x-codex-turn-metadata', /./) },
  {
    family: 'obsidian-copilot',
    name: 'dangerously-allow-browser',
    isIn: has('dangerously-allow-browser', /^true$/),
  },
  {
    family: 'obsidian-copilot',
    name: 'origin',
    isIn: isInAll(isJavaScript, has('origin', /^app:\/\/obsidian\.md$/)),
  },
  {
    family: 'obsidian-copilot',
    name: 'user-agent-obsidian',
    isIn: isInAll(isJavaScript, agent(/ obsidian\//i)),
  },
  {
    family: 'obsidian-copilot',
    name: 'user-agent-langchain-browser',
    isIn: agent(/^langchainjs-openai\/.* ?\(browser\)/),
  },
  {
    family: 'obsidian-copilot',
    name: 'referer-and-title',
    isIn: isInAll(
      has('http-referer', /^https:\/\/obsidiancopilot\.com\/?$/),
      has('x-title', /^Obsidian Copilot$/),
    ),
  },
  { family: 'obsidian-copilot', name: 'x-copilot-trace-id', isIn: has('x-copilot-trace-id', /./) },
  { family: 'opencode', name: 'user-agent', isIn: agent(/^opencode\//i) },
  { family: 'cursor', name: 'user-agent', isIn: agent(/^cursor\b/i) },
  { family: 'continue', name: 'user-agent', isIn: agent(/^continue\b/i) },
  { family: 'cline', name: 'user-agent', isIn: agent(/^(?:cline|roo-?code)\b/i) },
  { family: 'cline', name: 'x-title', isIn: has('x-title', /^(?:Cline|Roo Code)$/) },
  { family: 'open-webui', name: 'x-title', isIn: has('x-title', /^Open WebUI$/) },
  // Sent to every provider where it is set to tell who asks; its title goes to OpenRouter alone.
  { family: 'open-webui', name: 'x-openwebui-user-id', isIn: has('x-openwebui-user-id', /./) },
  { family: 'open-webui', name: 'user-agent', isIn: agent(/^open-?webui\b/i) },
];

/** Signs of a library that many programs are made with: they count where nothing else tells. */
export const LIBRARY_SIGNS: readonly HeaderSign[] = [
  { family: 'langchain', name: 'user-agent', isIn: agent(/^langchain/i) },
  { family: 'ai-sdk', name: 'user-agent', isIn: agent(/\bai-sdk\//i) },
  { family: 'openai-sdk', name: 'x-stainless-lang', isIn: has('x-stainless-lang', /./) },
];
