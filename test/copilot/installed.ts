import type * as messages from '@langchain/core/messages';
import type * as tools from '@langchain/core/tools';
import type * as openai from '@langchain/openai';

import { openLocked } from '../support/locked-packages.ts';

/**
 * LangChain at the versions of one lock file, with our types: what is used here is the same in all of them.
 */
export interface LangChain {
  readonly openai: typeof openai;
  readonly messages: typeof messages;
  readonly tools: typeof tools;
}

/** The packages locked by a folder next to this file; null: they could not be installed. */
export const openLangChain = async (folder: string): Promise<LangChain | null> => {
  const load = await openLocked(`test/copilot/${folder}`);
  if (load === null) return null;
  return {
    openai: load('@langchain/openai') as LangChain['openai'],
    messages: load('@langchain/core/messages') as LangChain['messages'],
    tools: load('@langchain/core/tools') as LangChain['tools'],
  };
};
