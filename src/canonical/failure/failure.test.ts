import { expect, it } from 'vitest';

import { row } from './catalogue-row.ts';
import { featureErrors } from './failure.ts';

it('an error of a feature is what its own row says', () => {
  const error = featureErrors({ shelf_full: row(429, 'The shelf is full.', 'No room.', { final: true }) });
  expect(error('shelf_full', { param: 'book' }).failure).toMatchObject({
    status: 429,
    type: 'rate_limit_error',
    code: 'shelf_full',
    message: 'The shelf is full.',
    param: 'book',
    headers: { 'x-should-retry': 'false' },
  });
});
