/**
 * Plans are generic, because a plan made for one organisation can be slow for the next. Parallel workers and JIT cost
 * more time than they save.
 */
export const sessionSettings: Record<string, string> = {
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  lock_timeout: '15s',
  idle_in_transaction_session_timeout: '1min',
};

/**
 * Citus chooses the node by the values of a statement, so plans are custom. A lock timeout reaches the node only if
 * Citus propagates `set local`.
 */
export const distributedSettings: typeof sessionSettings = {
  ...sessionSettings,
  plan_cache_mode: 'force_custom_plan',
  'citus.propagate_set_commands': 'local',
};
