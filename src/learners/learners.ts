/** What other nouns may ask of learners. */
export type { LearnerName } from './store.ts';
export {
  emptyLearners,
  findLearner,
  findLearnersByIds,
  findLearnersByRefs,
  findLeaving,
  findStranded,
  insertLearners,
  lookAgainAt,
  nameInstants,
  recordErasure,
  recordRename,
  stopLooking,
  updateLearner,
  updateLearnerRef,
} from './store.ts';
