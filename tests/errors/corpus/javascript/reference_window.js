window.alert('x');
