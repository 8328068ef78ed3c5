/** The functions of learners that other folders may call. */
export type { LearnerName } from './store.ts';
export { findAliases, findPerson, hashAliases, keepAlias, transferAliases } from './aliases.ts';
export {
  absorbLearner,
  redactLearners,
  findLearner,
  findLearnerEmail,
  findLearnersByIds,
  findLearnersByRefs,
  findLearnersOrSurvivors,
  findPresentLearner,
  findDueRemovalChecks,
  findSurvivors,
  forgetChangeReasonsBefore,
  findLearnerContacts,
  insertLearners,
  listErasures,
  scheduleRemovalCheck,
  nameInstants,
  recordChange,
  recordErasure,
  cancelRemovalCheck,
  updateLearner,
  updateLearnerEmail,
  updateLearnerRef,
  isErased,
} from './store.ts';
