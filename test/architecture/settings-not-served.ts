/** Settings of the requirements that this server does not have; `docs/requirements.md` says why. */
export const SETTINGS_NOT_SERVED: readonly string[] = [
  'PROXY_INCLUDE_APPLY_PATCH_TOOL',
  'PROXY_RESPONSES_SKIP_TURN',
];
