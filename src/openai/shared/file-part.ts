import { z } from 'zod';

import type { FilePart, RawPart } from '../../canonical/request/item.ts';
import { isJsonObject, present } from '../../kit/json/json.ts';
import { readBreakpoint } from './cache-breakpoint.ts';
import { missing } from '../../apis/validation.ts';

/** Fields of a file in both APIs. */
export const fileFields = {
  file_data: z.string().nullish(),
  file_id: z.string().nullish(),
  filename: z.string().nullish(),
} as const;

/** Parses a file. Whether the backend accepts it is checked later; its URL is not fetched. */
export const filePart = (parsed: RawPart, param: string): FilePart => {
  const { file_data: data, file_id: id, file_url: url } = parsed;
  if ([data, id, url].every((one) => typeof one !== 'string')) throw missing(param);
  const { prompt_cache_breakpoint: breakpoint, ...fields } = parsed;
  return {
    kind: 'file',
    raw: present(fields) as RawPart,
    ...readBreakpoint({ prompt_cache_breakpoint: isJsonObject(breakpoint) ? breakpoint : null }),
  };
};
