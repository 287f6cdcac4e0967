import type { StateArea } from './row.ts';

const PREVIOUS = 'test/conformance/previous-response.test.ts';
const CLIENTS = 'test/clients/stored.test.ts';

export const CHAINS: StateArea = {
  title: 'Continued responses',
  rows: [
    {
      openai: '`previous_response_id` puts the inputs and outputs of the whole chain before the new input.',
      ours: 'same',
      how: 'The model gets the same request, byte for byte, as if its client had sent the history.',
      tests: {
        [PREVIOUS]: [
          'has the whole conversation before its input, and inherits nothing else',
          'needs no input of its own',
        ],
        'test/laws/stored-request.test.ts': ['gives the same model request, byte for byte'],
        'test/conformance/stored-chains.test.ts': [
          'is sent as if its client had sent it, also after forks',
          'has 200 turns',
        ],
      },
    },
    {
      openai: 'Instructions, tools and all other parameters are not inherited.',
      ours: 'same',
      tests: { [PREVIOUS]: ['has the whole conversation before its input, and inherits nothing else'] },
    },
    {
      openai: 'A response may be continued any number of times.',
      ours: 'same',
      tests: { [PREVIOUS]: ['may fork at any place, any number of times'] },
    },
    {
      openai: 'An incomplete response can be continued.',
      ours: 'more',
      how: 'So can a stream that failed, with what it had finished.',
      tests: {
        [PREVIOUS]: [
          'may continue an incomplete answer, whose text stays',
          'may continue a failed stream, with what it had finished',
        ],
      },
    },
    {
      openai:
        'An unknown, deleted, expired or foreign id is a 400 `previous_response_not_found`, in a stream too.',
      ours: 'same',
      tests: {
        [PREVIOUS]: ['is a 400 before anything else (stream: %s)', 'is also one for counting and compacting'],
      },
    },
    {
      openai: 'Calls of the chain must have their outputs, and outputs their calls.',
      ours: 'same',
      tests: { [PREVIOUS]: ['must answer the calls of the conversation'] },
    },
    {
      openai: '`truncation: auto` drops the beginning of a chain that is too long.',
      ours: 'same',
      tests: { [PREVIOUS]: ['may truncate'] },
    },
    {
      openai: '`/input_tokens` counts the chain, and `/compact` compacts it.',
      ours: 'same',
      tests: { [PREVIOUS]: ['is counted', 'is compacted'] },
    },
    {
      openai: 'An `item_reference` finds every stored item of the caller.',
      ours: 'same',
      tests: {
        'test/conformance/item-references.test.ts': [
          'is replaced by the output item or the input item that it names',
          'is a 404 if the item is unknown, was not stored, was deleted, or belongs to another key',
          'is not looked up for items that have content, whatever their ids are',
        ],
        [CLIENTS]: [
          'sends references, also after a restart (stream: %s)',
          'sends reasoning back without its content, and the model gets it whole',
        ],
      },
    },
    {
      openai: 'The official SDK, the Agents SDK, the AI SDK and LangChain continue responses.',
      ours: 'same',
      tests: {
        [CLIENTS]: [
          'runs tools by previous_response_id (stream: %s)',
          'parses what it retrieves',
          'continues a run by previousResponseId (stream: %s)',
          'uploads only what is new in each round of one run',
          'continues by previousResponseId',
          'continues by previous_response_id (stream: %s)',
        ],
      },
    },
  ],
};
