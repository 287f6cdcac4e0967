import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Json, JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import type { FormEntry } from '../../turns/api.ts';

/** Clients send `image` for one file, and `image[]` or `image[0]` for several. */
const IMAGE = /^image(?:\[\d*\])?$/;
const NUMBERS: ReadonlySet<string> = new Set([
  'n',
  'output_compression',
  'partial_images',
  'frame_count',
  'frame_duration_ms',
]);

/** Converts a form to the equivalent JSON body. */
export const editBodyOf = (entries: readonly FormEntry[]): JsonObject => {
  const images: Json[] = [];
  const fields = new Map<string, Json>();
  for (const entry of entries) {
    if (IMAGE.test(entry.name)) {
      images.push(fileOf(entry));
      continue;
    }
    const { name } = entry;
    if (fields.has(name)) {
      throw gatewayError('invalid_value', {
        param: name,
        message: `Invalid '${quoted(name)}': the form has more than one part with this name.`,
      });
    }
    fields.set(name, name === 'mask' ? fileOf(entry) : valueOf(entry));
  }
  return { ...Object.fromEntries(fields), image: images };
};

const fileOf = ({ name, value, isFile }: FormEntry): JsonObject => {
  if (isFile) return { image_url: value };
  throw gatewayError('invalid_type', {
    param: name,
    message: `Invalid type for '${quoted(name)}': expected a file, but got text instead.`,
  });
};

/** Converts numbers and booleans. Invalid ones stay text, so that validation reports them. */
const valueOf = ({ name, value }: FormEntry): Json => {
  if (NUMBERS.has(name)) return /^-?\d+$/.test(value) ? Number(value) : value;
  if (name === 'stream' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
};
