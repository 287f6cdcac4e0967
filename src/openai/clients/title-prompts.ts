import type { ClientName } from '../../apis/clients/markers.ts';

/** What a side request asks for. */
export type SideKind = 'title' | 'title-and-summary' | 'thread-title';

/** A title prompt of a client, matched completely. */
export interface TitlePrompt {
  readonly kind: SideKind;
  /** The clients that send it. */
  readonly clients: readonly ClientName[];
  /** The system prompt; null: the request has none. */
  readonly prompt: RegExp | null;
  /** The first message after the system prompt. */
  readonly message: RegExp;
  /** Whether the messages of the conversation follow. */
  readonly hasMore: boolean;
}

/** The prompts of Obsidian Copilot 3.1.5 to 4.0.2 and opencode 1.18. */
export const TITLE_PROMPTS: readonly TitlePrompt[] = [
  {
    kind: 'title',
    clients: ['obsidian-copilot'],
    prompt: null,
    // The conversation is at most six messages, each cut to 200 characters.
    message:
      /^Generate a concise title \(max 5 words\) for this conversation based on its content\. Return only the title without any explanation or quotes\.\n\nConversation:\n\w+: [\s\S]{0,1500}$/,
    hasMore: false,
  },
  {
    kind: 'title-and-summary',
    clients: ['obsidian-copilot'],
    prompt:
      /^Your task is to analyze a conversation and generate both a title and a summary\.\n\n# OUTPUT FORMAT\n[\s\S]{1,1000}\n\n# RULES\n\* Use the same language as the conversation\s*$/,
    message:
      /^<conversation_text>\n[\s\S]*\n<\/conversation_text>\n\nGenerate a title and summary for this conversation:\s*$/,
    hasMore: false,
  },
  {
    kind: 'thread-title',
    // Obsidian Copilot runs opencode for its agent mode.
    clients: ['opencode', 'obsidian-copilot'],
    prompt:
      /^You are a title generator\. You output ONLY a thread title\. Nothing else\.\n\n<task>\n[\s\S]{1,4000}\n<\/examples>\s*$/,
    message: /^Generate a title for this conversation:\s*$/,
    hasMore: true,
  },
];
