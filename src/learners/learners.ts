/** What other nouns may ask of learners. */
export type { LearnerName } from './store.ts';
export { findAliases, findPerson, hashAliases } from './aliases.ts';
export {
  emptyLearners,
  findLearner,
  findLearnersByIds,
  findLearnersByRefs,
  findLearnersOrSurvivors,
  findLeaving,
  findStranded,
  forgetChangeReasonsBefore,
  insertLearners,
  listErasures,
  lookAgainAt,
  nameInstants,
  recordChange,
  recordErasure,
  stopLooking,
  updateLearner,
  updateLearnerRef,
} from './store.ts';
