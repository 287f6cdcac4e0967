import type { PartType } from './content-blocks.ts';

const PARTS = {
  text: 'A text. An empty one is left out.',
  image:
    'An image. `PROXY_IMAGE_URLS` says what is fetched here; a URL that cannot be fetched gets 400. A `file` source gets 400: there is no Files API.',
  document:
    'A text, or blocks of texts and images, with its `title` and `context` in front. A PDF, as base64 or by URL, is a file: 400 if the backend takes none. A `file` source gets 400. Wanted `citations` are named as ignored.',
  search_result: 'Texts, with `title` and `source` in front. Wanted `citations` are named as ignored.',
} as const satisfies Record<PartType, string>;

/** The blocks that each place allows, and what becomes of them. Others get 400 with their type. */
export const BLOCKS = {
  user: {
    ...PARTS,
    tool_result:
      'The output of a call. `is_error` is said in front of it: "Error: The tool call failed." Results come before the other blocks of their message, which keep their order. A PDF in a result is replaced by a note to the model if the backend takes no files.',
  },
  assistant: {
    text: 'A message of its own, as in the answer that it comes from.',
    tool_use: 'A call. Its result has to follow.',
    thinking:
      'Reasoning of an earlier answer, restored from its `signature`. Without a signature of this server it is left out.',
    redacted_thinking: 'The same for reasoning without a text.',
    server_tool_use:
      'A web search of an earlier answer. One that this server did not report is left out and named as ignored, and so are other tools.',
    web_search_tool_result: 'Part of the web search before it.',
    mcp_tool_use:
      'A call of a tool of an MCP server, which `mcp_servers` should still name. Without its result it is left out and named as ignored.',
    mcp_tool_result: 'The result of the call before it.',
  },
  system: {
    text: 'A text.',
    tool_addition: 'The model can call the named tool from here on.',
    tool_removal: 'The model can no longer call the named tool.',
  },
  tool_result: {
    ...PARTS,
    tool_reference:
      'The model can call the named tool from here on, which `tools` declares with `defer_loading`.',
  },
} as const;

type Place = keyof typeof BLOCKS;
type BlockType<Where extends Place> = Extract<keyof (typeof BLOCKS)[Where], string>;

/** The types of the blocks that a place allows. */
export const blocksOf = <Where extends Place>(where: Where): readonly BlockType<Where>[] =>
  Object.keys(BLOCKS[where]) as BlockType<Where>[];
