import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';

/** A backend that searches the web itself and cites the results. */

export const FOUND = 'Rain, says the paper.';
const CITATION = {
  type: 'url_citation',
  url: 'https://paper.example/weather',
  title: 'The weather',
  start_index: 0,
  end_index: 4,
};

export const searches: Script = (_request, connection) => {
  const item: JsonObject & { type: string } = {
    id: 'ws_1',
    type: 'web_search_call',
    status: 'completed',
    action: { type: 'search', query: 'weather in Paris', queries: ['weather in Paris'] },
  };
  const at = { output_index: 0, item_id: item['id'] };
  return answer(connection, [
    {
      event: {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress' },
      },
    },
    { event: { type: 'response.web_search_call.in_progress', ...at } },
    { event: { type: 'response.web_search_call.searching', ...at } },
    { event: { type: 'response.web_search_call.completed', ...at } },
    { event: { type: 'response.output_item.done', output_index: 0, item } },
    { text: FOUND, annotations: [CITATION] },
  ]);
};

export const { url: SOURCE } = CITATION;
