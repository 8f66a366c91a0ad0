/** The notice of an installation that shows the demo. */
export const invented = {
  inventedData: 'Invented data: this demo shows a history that never happened.',
};
