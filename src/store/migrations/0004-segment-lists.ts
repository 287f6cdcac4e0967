import type { Migration } from './migration.ts';

/** Lists of conversations for operators: of all owners, and of one. */
export const segmentLists: Migration = () => [
  'alter table segments add column updated_at bigint',
  'create index segments_list on segments (created_at, id)',
  'create index segments_owner on segments (owner, created_at, id)',
];
