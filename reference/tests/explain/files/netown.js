fetch('http://192.0.2.1/').catch(() => { console.error('the catalogue could not be had'); process.exit(4) })
