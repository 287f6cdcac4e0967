import type { Message } from '../../../canonical/request/item.ts';
import { isJsonObject } from '../../../kit/json/json.ts';

/** Citations of pages. The backend does not say which text of a page is cited. */
export const citationsOf = ({ parts }: Message) =>
  parts
    .flatMap((part) => (part.kind === 'text' ? (part.annotations ?? []) : []))
    .flatMap((one) => {
      if (!isJsonObject(one) || one['type'] !== 'url_citation' || typeof one['url'] !== 'string') return [];
      const { url, title } = one;
      return [
        {
          type: 'web_search_result_location' as const,
          url,
          title: typeof title === 'string' ? title : null,
          encrypted_index: '',
          cited_text: '',
        },
      ];
    });
