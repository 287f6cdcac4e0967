import { isJsonObject, jsonObjectWithin, objectsIn, textIn, type JsonObject } from '../../kit/json/json.ts';

/** Parses the reviewer's JSON; null if it is not a review. */
export const readReview = (text: string): JsonObject | null => {
  const review = jsonObjectWithin(text);
  return review !== null && Array.isArray(review['findings']) ? review : null;
};

/** The review as plain text. */
export const reviewInWords = (review: JsonObject): string => {
  const findings = objectsIn(review, 'findings');
  const explanation = textIn(review, 'overall_explanation');
  const words = findings.map(
    (finding) => `- ${textIn(finding, 'title')}${placeOf(finding)}\n  ${textIn(finding, 'body')}`,
  );
  return [explanation, ...words].filter((part) => part !== '').join('\n\n');
};

const placeOf = ({ code_location: location }: JsonObject): string => {
  if (!isJsonObject(location)) return '';
  const { line_range: range } = location;
  const { start, end } = isJsonObject(range) ? range : {};
  const lines = typeof start === 'number' && typeof end === 'number' ? `:${start}-${end}` : '';
  return ` — ${textIn(location, 'absolute_file_path')}${lines}`;
};
