import type { ClientName } from './markers.ts';

/** What a client asks for besides the conversation of its user: a name for it. */
export type SideKind = 'title' | 'title-and-summary' | 'thread-title';

/** One prompt of one client, matched from its beginning to its end. */
export interface TitleForm {
  readonly kind: SideKind;
  /** The clients that send it. */
  readonly families: readonly ClientName[];
  /** Null: the request has no system prompt. */
  readonly prompt: RegExp | null;
  /** The first message after the prompt. */
  readonly message: RegExp;
  /** Whether the messages of the conversation follow it. */
  readonly hasMore: boolean;
}

/** Obsidian Copilot 3.1.5 to 4.0.2, and opencode 1.18. */
export const TITLE_FORMS: readonly TitleForm[] = [
  {
    kind: 'title',
    families: ['obsidian-copilot'],
    prompt: null,
    // The conversation is at most six messages, each cut to 200 characters.
    message:
      /^Generate a concise title \(max 5 words\) for this conversation based on its content\. Return only the title without any explanation or quotes\.\n\nConversation:\n\w+: [\s\S]{0,1500}$/,
    hasMore: false,
  },
  {
    kind: 'title-and-summary',
    families: ['obsidian-copilot'],
    prompt:
      /^Your task is to analyze a conversation and generate both a title and a summary\.\n\n# OUTPUT FORMAT\n[\s\S]{1,1000}\n\n# RULES\n\* Use the same language as the conversation\s*$/,
    message:
      /^<conversation_text>\n[\s\S]*\n<\/conversation_text>\n\nGenerate a title and summary for this conversation:\s*$/,
    hasMore: false,
  },
  {
    kind: 'thread-title',
    // Obsidian Copilot runs opencode for its agent mode.
    families: ['opencode', 'obsidian-copilot'],
    prompt:
      /^You are a title generator\. You output ONLY a thread title\. Nothing else\.\n\n<task>\n[\s\S]{1,4000}\n<\/examples>\s*$/,
    message: /^Generate a title for this conversation:\s*$/,
    hasMore: true,
  },
];
